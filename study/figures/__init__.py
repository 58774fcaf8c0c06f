"""Figures of the study: each module computes plain data, then draws it; matplotlib is imported on drawing."""
