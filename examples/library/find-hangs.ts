// Prints every call of a recording that the runtime never answered, and whose pod it was about.
import { summarizeRecording } from 'podloop/record';

const { startedAt, hangs } = await summarizeRecording(process.env['RECORDING'] ?? 'node.plrec');

for (const { method, pod, subject, atMs, forMs } of hangs) {
  const time = new Date(Date.parse(startedAt) + atMs).toISOString();
  console.log(
    `${time} ${method} of ${pod || subject || 'the runtime'}: no answer for ${Math.round(forMs / 1000)} s`,
  );
}
