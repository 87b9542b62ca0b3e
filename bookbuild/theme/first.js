// The theme starts as "auto" and learns only at its end what that is: a flash of the other theme, and every style computed twice.
    document.documentElement.dataset.mode = localStorage.getItem("mode") || "{{ default_mode }}";
    document.documentElement.dataset.theme = ["light", "dark"].find((theme) => theme === localStorage.getItem("mode"))
      || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
