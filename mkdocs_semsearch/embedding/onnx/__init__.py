"""Encoders as ONNX graphs: loading one, exporting a model to one, and writing its weights in 8 bits."""
