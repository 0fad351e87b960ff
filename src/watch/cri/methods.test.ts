import { describe, expect, it } from 'vitest';

import { CriClient } from './client.js';
import { ImageServiceService, RuntimeServiceService } from './generated/runtime/v1/cri.js';
import { CRI_METHODS } from './methods.js';

describe('the table of methods', () => {
  const generated = { ...RuntimeServiceService, ...ImageServiceService };

  it('has every method of both services, with its path and kind', () => {
    const ofTable = Object.entries(CRI_METHODS).map(([name, { path, streaming }]) => [name, path, streaming]);
    const ofServices = Object.entries(generated).map(([name, { path, responseStream }]) => [
      name,
      path,
      responseStream,
    ]);
    expect(ofTable.toSorted()).toEqual(ofServices.toSorted());
    expect(ofTable).toHaveLength(41);
  });

  it('has the messages of each method', () => {
    for (const [name, method] of Object.entries(CRI_METHODS)) {
      const { requestSerialize, responseDeserialize } = generated[name as keyof typeof generated];
      // Two encoders may differ only in how they treat a strange field, so their source code identifies the
      // message.
      const fns = method as { request: { encode: unknown }; response: { decode: unknown } };
      expect(String(requestSerialize), name).toContain(nameOf(fns.request));
      expect(String(responseDeserialize), name).toContain(nameOf(fns.response));
    }
  });

  it('names operations as the kubelet does, each once', () => {
    const operations = Object.values(CRI_METHODS).map(({ operation }) => operation);
    expect(new Set(operations).size).toBe(operations.length);
    // The values of operation_type that a kubelet was seen to publish.
    const kubelets =
      'container_status|create_container|exec|exec_sync|image_status|list_containers|list_images|list_podsandbox|podsandbox_status|pull_image|remove_container|remove_podsandbox|run_podsandbox|start_container|status|stop_container|stop_podsandbox|version';
    expect(operations).toEqual(expect.arrayContaining(kubelets.split('|')));
  });

  it('is on the client, method by method', () => {
    const client = new CriClient({ endpoint: '/nowhere.sock' });
    for (const name of Object.keys(CRI_METHODS))
      expect(Reflect.get(client, name), name).toBeTypeOf('function');
    client.close();
  });
});

/** The name of a generated message, taken from the source code of its functions. */
function nameOf(fns: object): string {
  const create = String(Object.getOwnPropertyDescriptor(fns, 'create')?.value);
  return /return (?:[\w$]+\.)?(\w+)\.fromPartial/.exec(create)![1]!;
}
