// Two things that require.js and ipywidgets need on a site that serves everything itself.
(function () {
  // 1. Modules (anywidget) and the widgets' fonts lie beside this script, at any depth of page and on file:// too.
  const here = document.currentScript.src.replace(/[^/]*$/, "");
  requirejs.config({ baseUrl: here });

  // 2. Widget labels still call MathJax 2's queue; the book has MathJax 3.
  window.MathJax = window.MathJax || {};
  window.MathJax.Hub = {
    Queue: function (task) {
      const typeset = Array.isArray(task) && task[0] === "Typeset";
      if (typeset && window.MathJax.typesetPromise) window.MathJax.typesetPromise([task[2]]);
    },
    Config: function () {},
  };
})();
