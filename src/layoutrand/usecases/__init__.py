"""The use cases: each reads as a list of steps and composes the layers below."""
