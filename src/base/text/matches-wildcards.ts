/**
 * Whether a text matches a pattern: `*` matches any text, `?` any one character. Pure.
 *
 * It never backtracks beyond the last star, so a pattern of many stars costs no more than one. A regular
 * expression would try all of them again, for as long as the author of the pattern likes.
 */
export function matchesWildcards(pattern: string, text: string): boolean {
  let [at, from] = [0, 0];
  let [star, starTakes] = [-1, 0];
  while (from < text.length) {
    const sign = pattern[at];
    if (sign === '*') {
      star = at++;
      starTakes = from;
    } else if (sign === '?' || sign === text[from]) {
      at++;
      from++;
    } else if (star === -1) return false;
    else {
      at = star + 1;
      from = ++starTakes;
    }
  }
  return /^\**$/.test(pattern.slice(at));
}
