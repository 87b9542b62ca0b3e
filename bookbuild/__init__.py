"""Makes pages, notebooks and JupyterLab of the chapters.  No chapter and no file of `vitbook` imports it."""
