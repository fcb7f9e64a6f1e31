// Sets every formula of the page; a mistake in one is shown in red in its place, and in the console.
document.addEventListener("DOMContentLoaded", () => {
  const macros = { "\\R": "\\mathbb{R}", "\\norm": "\\left\\lVert #1 \\right\\rVert", "\\argmin": "\\operatorname*{arg\\,min}" };
  for (const place of document.querySelectorAll(".math")) {
    const formula = place.textContent;
    katex.render(formula, place, { displayMode: place.tagName === "DIV", macros, throwOnError: false, trust: false });
    if (place.querySelector(".katex-error")) console.error(`formula: ${formula}`);
  }
});
