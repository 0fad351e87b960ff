import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ApiError, type ApiHandler, type ApiRouter, jsonAnswer } from '#node/api';
import { type IncidentKeeper } from '../incidents/incident-keeper.js';

/** Adds the paths of incidents: the list, one, and the recording of one. */
export function addIncidentRoutes(
  router: Pick<ApiRouter, 'answer'>,
  keeper: Pick<IncidentKeeper, 'list' | 'find' | 'recordingOf'>,
): void {
  const find: ApiHandler = async ({ params: { id = '' } }) => {
    const incident = await keeper.find(readId(id));
    if (incident === undefined) throw notFound(id);
    return jsonAnswer(incident);
  };
  router.answer('GET', '/incidents', async () => jsonAnswer(await keeper.list()));
  router.answer('GET', '/incidents/:id', find);
  router.answer('GET', '/incidents/:id/recording', async ({ params: { id = '' } }) => {
    const file = keeper.recordingOf(readId(id));
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) throw notFound(`${id}: its calls were not recorded, or are gone`);
    // One that is still written ends with its last whole block.
    const pieces = createReadStream(file, { end: Math.max(0, found.size - 1) });
    return { kind: 'stream', contentType: 'application/octet-stream', abortCutsOff: true, pieces };
  });
}

function readId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new ApiError('BadRequest', `${JSON.stringify(text)} is no number of an incident`);
}

function notFound(what: string): ApiError {
  return new ApiError('NotFound', `there is no incident ${what}`);
}
