"""Reading ladder documents: from text to a tree of JSON values with lines, and from that to a ladder."""
