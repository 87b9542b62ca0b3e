"""For JupyterLab in the book's environment; `make lab-settings` puts this folder where the server looks."""

c = get_config()

c.ServerApp.contents_manager_class = "vitbook.views.lab.Chapters"
# A chapter that is saved keeps its header: no version of the tool that saved it.
text = "jupytext.text_representation"
c.Chapters.notebook_metadata_filter = f"-{text}.jupytext_version,-{text}.format_version"
