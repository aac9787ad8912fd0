"""What is wrong with the command line of a deployment, with the place in the user's file; pure."""
