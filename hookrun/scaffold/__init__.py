"""Write hooks into a project: from templates and from recipes, whole or not at all."""
