/** The code of a system error, such as `ENOENT`; empty for any other. */
export function systemCodeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : '';
}
