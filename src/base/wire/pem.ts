/** Encodes DER as PEM. `label`: `CERTIFICATE`. */
export function toPem(label: string, der: ArrayBuffer | Uint8Array): string {
  const bytes = der instanceof Uint8Array ? der : new Uint8Array(der);
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** The certificates in a text, in order, each as PEM. */
export function certificatesIn(text: string): string[] {
  return text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
}

/** The first private key in a text, of any kind, as PEM; undefined if there is none. */
export function privateKeyIn(text: string): string | undefined {
  return /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[^-]+-----END \1-----/.exec(text)?.[0];
}
