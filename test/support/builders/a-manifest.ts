/** A manifest of one pod with one container, for the name and the image that it is given. */
export function aManifest(name: string, image = 'a'): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: { name: ${name} }\nspec: { containers: [{ name: c, image: ${image} }] }\n`;
}

/** One that cannot be read. */
export const BROKEN_MANIFEST = 'apiVersion: v1\nkind: Pod\nmetadata: { name: [';
