"""For JupyterLab in the book's environment; `make lab-settings` puts this folder where the server looks."""

import sys
from pathlib import Path

import zmq

c = get_config()

sys.path.insert(
    0, str(Path.cwd())
)  # bookbuild stands beside the chapters and is not installed; `make lab` starts there

c.ServerApp.contents_manager_class = "bookbuild.lab.Chapters"
# A chapter that is saved keeps its header: no version of the tool that saved it.
text = "jupytext.text_representation"
c.Chapters.notebook_metadata_filter = f"-{text}.jupytext_version,-{text}.format_version"
# README.md and its like open as pages to read.
c.LabApp.extra_labextensions_path = [str(Path(__file__).parent / "labextensions")]
if zmq.has("curve"):  # without it each kernel warns that others on this machine could read along
    c.KernelManager.transport_encryption = "auto"
