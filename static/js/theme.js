// Runs in <head>, before anything is painted: the chosen theme and whether the timeline column is shown.
(() => {
  const root = document.documentElement;
  root.dataset.js = "";
  try {
    const theme = localStorage.getItem("loupe.theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    if (localStorage.getItem("loupe.pin") === "off" && matchMedia("(min-width: 1360px)").matches) root.dataset.pin = "off";
  } catch {
    // Storage may be closed to us; the system's theme stands.
  }
})();
