import { expect, it } from 'vitest';
import { cri } from '../../../watch/cri/index.js';
import { SecurityFacts } from './security-facts.js';

const NONE = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";

it('knows of each handler whether it has user namespaces, and says in the kubelet’s words which has none', async () => {
  const facts = await SecurityFacts.read();
  expect(facts.findUserNamespaceProblem('')).toBe(NONE);
  facts.take(
    cri.StatusResponse.fromPartial({
      runtimeHandlers: [
        { name: '', features: { userNamespaces: true } },
        { name: 'plain', features: { recursiveReadOnlyMounts: true } },
        { name: 'old' },
      ],
    }),
  );
  expect(facts.findUserNamespaceProblem('')).toBeUndefined();
  for (const name of ['plain', 'old']) {
    expect(facts.findUserNamespaceProblem(name)).toBe(
      `can't set \`spec.hostUsers: false\`, RuntimeClass handler "${name}" does not support user namespaces`,
    );
  }
  expect(facts.findUserNamespaceProblem('kata')).toMatch(
    /"kata" does not support user namespaces: the handler "kata" is not known$/,
  );
  // One that reports no handlers is too old.
  facts.take(cri.StatusResponse.fromPartial({}));
  expect(facts.findUserNamespaceProblem('')).toBe(NONE);
});
