"""Makes pages, notebooks and JupyterLab of the chapters.  No chapter and no file of `vitbook` imports it."""

from bookbuild.home import lend_a_home

lend_a_home()  # before any file of this package imports Jupyter
