"""Reads YAML with places, compose files and Kubernetes manifests."""
