"""What readers searched for: recorded on request, without anything that names them, and reported to the authors."""
