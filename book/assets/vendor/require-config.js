// Two things that require.js and ipywidgets need on a site that serves everything itself.
(function () {
  // 1. Modules (anywidget) and the widgets' fonts lie beside this script, at any depth of page and on file:// too.
  requirejs.config({ baseUrl: document.currentScript.src.replace(/[^/]*$/, "") });

  // 2. Widget labels still call MathJax 2's queue; the book has MathJax 3, which is there once the page is parsed.
  document.addEventListener("DOMContentLoaded", function () {
    const MathJax = (window.MathJax = window.MathJax || {});
    MathJax.Hub = {
      Config: function () {},
      Queue: function (task) {
        const typesets = Array.isArray(task) && task[0] === "Typeset";
        if (typesets && MathJax.typesetPromise) MathJax.typesetPromise([task[2]]);
      },
    };
  });
})();
