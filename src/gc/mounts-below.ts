/** The first mount at a folder or below it in the text of /proc/self/mountinfo; undefined when there is none. Pure. */
export function findMountBelow(folder: string, mountInfo: string): string | undefined {
  const places = mountInfo.split('\n').map((line) => unescapeOctal(line.split(' ')[4] ?? ''));
  return places.find((place) => place === folder || place.startsWith(`${folder}/`));
}

/** The kernel writes blanks and the like as `\040`. */
function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}
