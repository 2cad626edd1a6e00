/**
 * The length of a millimetre on this screen, in CSS pixels: 96 dots per inch until it is set with a ruler.
 *
 * In: the form with a bar and a range. Out: a number, kept in localStorage.
 */

const KEY = "beatwire.pxPerMm";
const DEFAULT = 96 / 25.4;
const BAR_MM = 50;

/** CSS pixels per millimetre. @returns {number} */
export function pxPerMm() {
  const stored = Number(localStorage.getItem(KEY));
  return stored >= 2 && stored <= 12 ? stored : DEFAULT;
}

/**
 * Let the user set the length of a millimetre.
 * @param {HTMLElement} form
 * @param {(value: number) => void} changed
 */
export function bindCalibration(form, changed) {
  const [bar, range] = [form.querySelector(".ruler"), form.querySelector("input")];
  range.value = String(pxPerMm());
  bar.style.width = `${BAR_MM * pxPerMm()}px`;
  range.addEventListener("input", () => {
    localStorage.setItem(KEY, range.value);
    bar.style.width = `${BAR_MM * pxPerMm()}px`;
    changed(pxPerMm());
  });
}
