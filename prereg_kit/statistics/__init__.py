"""Exact and Monte Carlo resampling, intervals, variance components. Pure: arrays in, numbers out."""
