"""The report as one HTML page: `evalkit.report.html.render` writes it, `static/` and `templates/` hold what it is made of."""
