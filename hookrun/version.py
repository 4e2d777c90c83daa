"""Hold the version of hookrun, for the modules below the package's public names."""

__version__ = "0.1.0"
