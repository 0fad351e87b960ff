import { describe, expect, it } from 'vitest';
import { ListContainersResponse, ListPodSandboxResponse } from '../../watch/cri/generated/runtime/v1/cri.js';
import { ListAnswers } from './list-answers.js';
import { type NodeChange, SyntheticNode } from './synthetic-node.js';

function createNode(pods: number, containersPerPod: number) {
  const changes: NodeChange[] = [];
  let now = 1_700_000_000_000_000_000n;
  const node = new SyntheticNode({
    seed: 'test',
    nowNs: () => ++now,
    onChange: (change) => changes.push(change),
  });
  node.addPods({ count: pods, containersPerPod });
  changes.length = 0;
  return { node, changes, lists: new ListAnswers(node) };
}

describe('the pods of a synthetic runtime', () => {
  it('look the same for the same seed', () => {
    const ids = (node: SyntheticNode) =>
      [...node.pods()].flatMap((pod) => pod.containers.map(({ id }) => id));
    expect(ids(createNode(3, 2).node)).toEqual(ids(createNode(3, 2).node));
    expect(new Set(ids(createNode(30, 2).node)).size).toBe(60);
  });

  it('end as many containers as told, with the exit code, and say so in order', () => {
    const { node, changes } = createNode(2, 2);
    const killed = node.kill({ count: 3 }, { exitCode: 3 });
    expect(killed.map(({ state, exitCode, reason }) => [state, exitCode, reason])).toEqual(
      Array.from({ length: 3 }, () => ['exited', 3, 'Error']),
    );
    expect(changes.map(({ type, id }) => [type, id])).toEqual(killed.map(({ id }) => ['stopped', id]));
    expect(node.kill({}).length).toBe(1);
    expect(node.kill({}).length).toBe(0);
  });

  it('select by container and by pod', () => {
    const { node } = createNode(3, 2);
    const [first, second] = [...node.pods()];
    expect(node.kill({ podUids: [second!.uid], count: 1 })[0]!.podUid).toBe(second!.uid);
    const wanted = first!.containers[1]!.id;
    expect(node.kill({ containerIds: [wanted, 'unknown'] }).map(({ id }) => id)).toEqual([wanted]);
  });

  it('get a container of the next attempt beside the ended one', () => {
    const { node, changes } = createNode(1, 1);
    const [ended] = node.kill({});
    const [replacement] = node.restart({});
    expect(replacement).toMatchObject({ attempt: 1, name: ended!.name, state: 'running' });
    expect([...node.pods()][0]!.containers.map(({ state }) => state)).toEqual(['exited', 'running']);
    expect(changes.map(({ type }) => type)).toEqual(['stopped', 'created', 'started']);
  });

  it('go away with everything that was in them', () => {
    const { node, changes } = createNode(2, 2);
    const [pod, other] = [...node.pods()];
    node.removePods([pod!.uid]);
    expect([...node.pods()].map(({ uid }) => uid)).toEqual([other!.uid]);
    expect(node.findPodOf(pod!.sandboxId)).toBeUndefined();
    expect(changes.map(({ type }) => type)).toEqual([
      'stopped',
      'stopped',
      'stopped',
      'deleted',
      'deleted',
      'deleted',
    ]);
  });
});

describe('the list answers of a synthetic runtime', () => {
  it('are the same bytes until something changes, in one order that begins anywhere', () => {
    const { node, lists } = createNode(8, 2);
    const ids = (answer: Buffer) => ListContainersResponse.decode(answer).containers.map(({ id }) => id);
    const answers = Array.from({ length: 8 }, () => lists.containers(undefined));
    expect(answers.slice(4).every((answer, index) => answer === answers[index])).toBe(true);
    const [first, second] = [ids(answers[0]!), ids(answers[1]!)];
    expect(second[0]).toBe(first[4]);
    expect([...second.slice(12), ...second.slice(0, 12)]).toEqual(first);
    expect(first).not.toEqual([...node.pods()].flatMap((pod) => pod.containers.map(({ id }) => id)));

    const [killed] = node.kill({ count: 1 });
    const listed = ListContainersResponse.decode(lists.containers(undefined)).containers;
    expect(listed.length).toBe(16);
    expect(listed.filter(({ state }) => state === 2).map(({ id }) => id)).toEqual([killed!.id]);
  });

  it('have about 1.3 KiB for each container, as containerd’s', () => {
    const { lists } = createNode(50, 2);
    expect(lists.containers(undefined).length / 100).toBeGreaterThan(1200);
    expect(lists.containers(undefined).length / 100).toBeLessThan(1450);
    expect(lists.sandboxes(undefined).length / 50).toBeGreaterThan(600);
  });

  it('obey the filters', () => {
    const { node, lists } = createNode(4, 2);
    const pod = [...node.pods()][2]!;
    const none = { id: '', state: undefined, labelSelector: {} };
    const containers = (filter: Parameters<ListAnswers['containers']>[0]) =>
      ListContainersResponse.decode(lists.containers(filter)).containers.map(({ id }) => id);
    const sandboxes = (filter: Parameters<ListAnswers['sandboxes']>[0]) =>
      ListPodSandboxResponse.decode(lists.sandboxes(filter)).items.map(({ id }) => id);
    const own = pod.containers.map(({ id }) => id);
    const labelSelector = { 'io.kubernetes.pod.uid': pod.uid };
    expect(containers({ ...none, podSandboxId: '', labelSelector })).toEqual(own);
    expect(containers({ ...none, podSandboxId: pod.sandboxId })).toEqual(own);
    expect(containers({ ...none, podSandboxId: '', id: own[1]! })).toEqual([own[1]]);
    expect(containers({ ...none, podSandboxId: '', id: 'unknown' })).toEqual([]);
    expect(containers({ ...none, podSandboxId: '', state: { state: 2 } })).toEqual([]);
    expect(sandboxes({ ...none, labelSelector })).toEqual([pod.sandboxId]);
    expect(sandboxes({ ...none, state: { state: 0 } }).length).toBe(4);
  });

  it('come in messages of a stream with the same items', () => {
    const { lists } = createNode(7, 1);
    const messages = [...lists.containerMessages(undefined, 3)];
    const idsOf = (message: Buffer) => ListContainersResponse.decode(message).containers.map(({ id }) => id);
    expect(messages.map((message) => idsOf(message).length)).toEqual([3, 3, 1]);
    expect(messages.flatMap(idsOf).sort()).toEqual(idsOf(lists.containers(undefined)).sort());
  });
});
