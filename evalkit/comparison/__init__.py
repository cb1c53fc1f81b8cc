"""Two stored runs side by side: read, paired, tested, put into words; `evalkit.compare` puts the parts together."""
