import { AnswerHistory } from './answer-history.js';
import { type ChaosContext } from '../chaos-context.js';
import { CONTAINER_FIELDS } from '../cri-fields.js';
import { growList, type ListAnswer, truncateList } from './list-changes.js';
import { type PodDirectory } from '../pod-directory.js';
import { ifReadable } from '#base/wire/protobuf-fields.js';
import { type ActiveRule } from '../rule-book.js';
import { matchesNames, type Subject } from '../subject.js';

/** The answer to a list as a rule wants it, said and counted; as it was when there is nothing to change, or no reading it. */
export function applyListFault(
  { injections, history, directory }: Pick<ChaosContext, 'injections' | 'history' | 'directory'>,
  active: ActiveRule,
  subject: Subject,
  request: Buffer,
  answer: ListAnswer,
): ListAnswer {
  const { rule } = active;
  const { fault } = rule;
  if (!answer.every((message) => message.isReadable)) return answer;
  if (fault.type === 'truncate-list') {
    const isChosen = (item: Buffer): boolean => matchesNames(rule, describeItem(subject, item, directory));
    const truncated = ifReadable(() => truncateList(answer, fault.keep, isChosen));
    if (truncated === undefined || truncated.leftOut === 0) return answer;
    injections.note(rule, subject, `${truncated.leftOut} of ${truncated.items} items left out`);
    return truncated.answer;
  }
  if (fault.type === 'stale-list') {
    const old = history.find(AnswerHistory.keyOf(subject.path, request), fault.behind);
    if (old === undefined) return answer;
    injections.note(rule, subject, `${fault.behind} behind`);
    return old;
  }
  if (fault.type === 'grow-list') {
    injections.note(rule, subject, `${fault.toBytes} bytes`);
    return growList(answer, fault.toBytes);
  }
  return answer;
}

/** What an item of a list of pods is about. */
function describeItem({ method, path }: Subject, item: Buffer, directory: PodDirectory): Subject {
  if (!method.endsWith('Containers')) {
    const sandboxId = directory.learnSandbox(item);
    return { method, path, sandboxId, known: () => directory.findSandbox(sandboxId) };
  }
  const containerId = directory.learnContainer(item, CONTAINER_FIELDS);
  return { method, path, containerId, known: () => directory.findContainer(containerId) };
}
