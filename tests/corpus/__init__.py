"""The manipulation corpus: small repositories with one planted manipulation each, and honest ones."""
