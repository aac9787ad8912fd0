"""`python -m assay`."""

from assay.cli import run

if __name__ == "__main__":
    run()
