"""Pure decisions: values in, values out; no file, process, clock or chance."""
