/**
 * Styles that a library writes into elements, as style sheets that scripts make: the policy of the page admits those, and
 * neither `style` elements nor `style` attributes, which markup could have.
 *
 * Source: https://www.w3.org/TR/CSP3/#directive-style-src, https://drafts.csswg.org/cssom/#dom-documentorshadowroot-adoptedstylesheets
 *
 * @module
 */

type Create = (name: string, options?: ElementCreationOptions) => HTMLElement;

/**
 * From now on `createElement` of the document makes a `style` element that stands for a style sheet of the document, and
 * other elements that take a `style` attribute property by property. The page itself uses neither.
 */
export function adoptStyles(page: Document): void {
  const { createElement: create } = Document.prototype as { readonly createElement: Create };
  const createElement: Create = (name, options) => {
    const isStyle = name.toLowerCase() === 'style';
    const element = create.call(page, isStyle ? 'span' : name, options);
    if (isStyle) standForSheet(page, element);
    else element.setAttribute = setAttribute;
    return element;
  };
  Object.assign(page, { createElement });
}

/** The text of the element is a style sheet of the document, until the element is removed. */
function standForSheet(page: Document, element: HTMLElement): void {
  const sheet = new CSSStyleSheet();
  element.hidden = true;
  let text = '';
  Object.defineProperty(element, 'textContent', {
    get: () => text,
    set: (next: string) => {
      text = next;
      sheet.replaceSync(next);
    },
  });
  element.remove = () => {
    page.adoptedStyleSheets = page.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(element);
  };
  page.adoptedStyleSheets = [...page.adoptedStyleSheets, sheet];
}

function setAttribute(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}
