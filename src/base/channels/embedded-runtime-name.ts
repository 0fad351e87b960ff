/** The name of the embedded runtime in CRI's Version. */
export const EMBEDDED_RUNTIME_NAME = 'podloop-embedded';
