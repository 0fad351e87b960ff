const USUAL = 10;

/**
 * What time limits of tests are multiplied by in an emulated machine, which is 10 to 20 times slower than a real one. More is asked for
 * by `PODLOOP_MACHINE_PATIENCE`, where other work runs beside the emulator.
 */
export const PATIENCE = readPatience(process.env['PODLOOP_MACHINE_PATIENCE']);

/** What a limit in minutes that was written for the usual patience is with today's. */
export function scaleMinutes(minutes: number): number {
  return (minutes * PATIENCE) / USUAL;
}

function readPatience(word: string | undefined): number {
  if (word === undefined || word === '') return USUAL;
  const patience = Number(word);
  if (!Number.isInteger(patience) || patience < USUAL) {
    throw new Error(`PODLOOP_MACHINE_PATIENCE=${word}: must be a whole number, ${USUAL} or more`);
  }
  return patience;
}
