"""Writes hooks into a project for a person: from templates and from recipes, whole or not at all."""
