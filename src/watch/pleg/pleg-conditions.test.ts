import { describe, expect, it } from 'vitest';
import { drain, podOf, setUpPleg, takeAll } from '#support/harness/pleg-harness.js';
import { runningContainerCondition } from './watch-conditions.js';

const always = (): boolean => true;
const never = (): boolean => false;

/** What the next relist publishes, without starts: conditions by pod and key, everything else by its type. */
async function relisted(h: ReturnType<typeof setUpPleg>): Promise<string[]> {
  await h.pleg.relist();
  return takeAll(h.events).flatMap((event) => (event.type === 'ContainerStarted' ? [] : conditionOf(event)));
}

function conditionOf(event: ReturnType<typeof takeAll>[number]): string {
  return event.type === 'ConditionMet' ? `${event.pod.uid} ${event.conditionKey}` : event.type;
}

async function started(): Promise<ReturnType<typeof setUpPleg>> {
  const h = setUpPleg();
  h.runtime.setPods([
    podOf('running', { c: 'running' }),
    podOf('multi', { gone: 'exited', c: 'running' }),
    podOf('terminated', { c: 'exited' }),
    podOf('reinspect', { c: 'running' }),
  ]);
  await h.pleg.relist();
  drain(h.events);
  return h;
}

describe('a watched condition', () => {
  it('that nobody set costs no inspection', async () => {
    const h = await started();
    expect(await relisted(h)).toEqual([]);
    expect(h.runtime.statusCalls()).toBe(4);
  });

  it('that is met is published once and no longer watched; one that is not is evaluated at each relist', async () => {
    const h = await started();
    let asked = 0;
    h.pleg.watchCondition('running', 'completing', always);
    h.pleg.watchCondition('running', 'watching', () => {
      asked++;
      return false;
    });
    expect(await relisted(h)).toEqual(['running completing']);
    expect(await relisted(h)).toEqual([]);
    expect(await relisted(h)).toEqual([]);
    expect([asked, h.runtime.statusCalls('running'), h.runtime.statusCalls('multi')]).toEqual([3, 4, 1]);
  });

  it('that is replaced while it is being evaluated stays watched', async () => {
    const h = await started();
    let asked = 0;
    const updating = (): boolean => {
      asked++;
      if (asked < 3) h.pleg.watchCondition('running', 'updating', updating);
      return true;
    };
    h.pleg.watchCondition('running', 'updating', updating);
    expect([await relisted(h), await relisted(h), await relisted(h)]).toEqual([[], [], ['running updating']]);
    expect(asked).toBe(3);
  });

  it('that is set twice is evaluated in its newest form only', async () => {
    const h = await started();
    h.pleg.watchCondition('running', 'k', () => {
      throw new Error('this one was replaced');
    });
    h.pleg.watchCondition('running', 'k', always);
    expect(await relisted(h)).toEqual(['running k']);
  });

  it('of a pod that does not exist is not evaluated, and is forgotten', async () => {
    const h = await started();
    let asked = 0;
    h.pleg.watchCondition('nobody', 'k', () => {
      asked++;
      return true;
    });
    expect(await relisted(h)).toEqual([]);
    h.runtime.setPod(podOf('nobody', { c: 'running' }));
    expect(await relisted(h)).toEqual([]);
    expect(await relisted(h)).toEqual([]);
    expect(asked).toBe(0);
  });

  it('of a pod that vanishes is not evaluated, and is forgotten with it', async () => {
    const h = await started();
    let asked = 0;
    h.pleg.watchCondition('terminated', 'k', () => {
      asked++;
      return true;
    });
    h.runtime.removePod('terminated');
    expect(await relisted(h)).toEqual(['ContainerRemoved']);
    h.runtime.setPod(podOf('terminated', { c: 'running' }));
    expect(await relisted(h)).toEqual([]);
    expect(await relisted(h)).toEqual([]);
    expect(asked).toBe(0);
  });

  it('of a pod that is inspected again anyway is evaluated once', async () => {
    const h = await started();
    let asked = 0;
    h.pleg.requestReinspect('reinspect');
    h.pleg.watchCondition('reinspect', 'k', () => {
      asked++;
      return false;
    });
    expect(await relisted(h)).toEqual(['PodSync']);
    expect([asked, h.runtime.statusCalls('reinspect')]).toEqual([1, 2]);
  });

  it('is not evaluated on a status that could not be fetched', async () => {
    const h = await started();
    let asked = 0;
    h.pleg.watchCondition('running', 'k', () => {
      asked++;
      return true;
    });
    h.runtime.failStatus('running', new Error('shim is gone'));
    expect([await relisted(h), asked]).toEqual([[], 0]);
    h.runtime.failStatus('running', undefined);
    // It was a re-inspection without a change, too.
    expect([await relisted(h), asked]).toEqual([['PodSync', 'running k'], 1]);
  });

  it('that throws hides nothing else, and is evaluated again', async () => {
    const h = await started();
    h.pleg.watchCondition('running', 'throws', () => {
      throw new Error('mistake');
    });
    h.pleg.watchCondition('running', 'fine', always);
    h.runtime.setContainer('running', 'c', 'exited');
    expect(await relisted(h)).toEqual(['ContainerDied', 'running fine']);
    h.pleg.watchCondition('running', 'throws', always);
    expect(await relisted(h)).toEqual(['running throws']);
  });
});

describe('conditions on a container', () => {
  it('are published when they are met', async () => {
    const h = await started();
    h.pleg.watchCondition('running', 'true', runningContainerCondition('c', always));
    h.pleg.watchCondition('running', 'false', runningContainerCondition('c', never));
    expect(await relisted(h)).toEqual(['running true']);
  });

  it('are published, too, when the container does not run or does not exist', async () => {
    const h = await started();
    for (const [key, name] of [
      ['exited', 'gone'],
      ['running', 'c'],
      ['missing', 'nobody'],
    ] as const) {
      for (const holds of [true, false]) {
        h.pleg.watchCondition(
          'multi',
          `${key} ${holds}`,
          runningContainerCondition(name, () => holds),
        );
      }
    }
    expect((await relisted(h)).sort()).toEqual([
      'multi exited false',
      'multi exited true',
      'multi missing false',
      'multi missing true',
      'multi running true',
    ]);
    h.runtime.setContainer('multi', 'c', 'exited');
    expect(await relisted(h)).toEqual(['ContainerDied', 'multi running false']);
  });
});
