// What opens a file JupyterLab decides by its name alone. Papers of the repository have names in capitals (README.md), and a
// double click shows them as pages; every other .md file opens as defaultViewers in default_setting_overrides.json says.
window._JUPYTERLAB = window._JUPYTERLAB ?? {};
window._JUPYTERLAB["vitbook-papers"] = {
  init() {},
  get: async () => () => ({
    __esModule: true,
    default: {
      id: "vitbook-papers:plugin",
      autoStart: true,
      activate({ docRegistry }) {
        const { icon, mimeTypes } = docRegistry.getFileType("markdown");
        const paper = { name: "paper", displayName: "Markdown Paper", pattern: "^[A-Z-]+\\.md$", icon, mimeTypes };
        docRegistry.addFileType(paper, ["Markdown Preview"]);
      },
    },
  }),
};
