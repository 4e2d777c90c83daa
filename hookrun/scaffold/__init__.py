"""Write hooks into a project from templates and recipes, whole or not at all."""
