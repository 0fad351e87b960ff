/**
 * Whether a text is as a pattern has it: `*` is whatever there is, `?` any one character. Pure.
 *
 * Without going back beyond the last star: a pattern of many stars costs no more than one. A regular expression tries
 * all of them anew, for as long as whoever wrote the pattern likes.
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
