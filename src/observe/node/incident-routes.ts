import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { ApiError, type ApiHandler, type ApiRouter, jsonAnswer } from '#node/api';
import { type IncidentKeeper } from '../incidents/incident-keeper.js';

/** Adds the paths of incidents: the list, one, and the files of one. */
export function addIncidentRoutes(
  router: Pick<ApiRouter, 'answer'>,
  keeper: Pick<IncidentKeeper, 'list' | 'find' | 'recordingOf' | 'samplesOf'>,
): void {
  const find: ApiHandler = async ({ params: { id = '' } }) => {
    const incident = await keeper.find(readId(id));
    if (incident === undefined) throw notFound(id);
    return jsonAnswer(incident);
  };
  router.answer('GET', '/incidents', async () => jsonAnswer(await keeper.list()));
  router.answer('GET', '/incidents/:id', find);
  const sendFile =
    (fileOf: (id: number) => string, contentType: string, missing: string): ApiHandler =>
    async ({ params: { id = '' } }) => {
      const file = fileOf(readId(id));
      const found = await stat(file).catch(() => undefined);
      if (found === undefined) throw notFound(`${id}: ${missing}`);
      // One that is still written ends with what is there now.
      const pieces = createReadStream(file, { end: Math.max(0, found.size - 1) });
      return { kind: 'stream', contentType, abortCutsOff: true, pieces };
    };
  router.answer(
    'GET',
    '/incidents/:id/recording',
    sendFile(
      (id) => keeper.recordingOf(id),
      'application/octet-stream',
      'its calls were not recorded, or are gone',
    ),
  );
  router.answer(
    'GET',
    '/incidents/:id/samples',
    sendFile((id) => keeper.samplesOf(id), 'application/jsonl', 'nothing was measured, or it is gone'),
  );
}

function readId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new ApiError('BadRequest', `${JSON.stringify(text)} is no number of an incident`);
}

function notFound(what: string): ApiError {
  return new ApiError('NotFound', `there is no incident ${what}`);
}
