/** The queue of reports: its order, its bounds, and callers that go away. */
import t from 'tap';
import { openReportQueue } from '../../src/http/recipients/feedback.js';

const bounds = { reportsAtOnceMax: 2, reportsWaitingMax: 3, teamReportsWaitingMax: 2 };

void t.test('reports wait for their turn in order, up to the bounds of the queue and of one team', async (t) => {
  const queue = openReportQueue(bounds);
  const begun: string[] = [];
  const enter = (name: string, team: string) => {
    const place = queue.enter(team);
    void place?.turn.then(() => begun.push(name));
    return place;
  };
  const [first, second] = [enter('1', 'a'), enter('2', 'a')];
  enter('3', 'a');
  const fourth = enter('4', 'a');
  t.equal(enter('5', 'a'), undefined, 'the team has two that wait');
  enter('6', 'b');
  t.equal(enter('7', 'c'), undefined, 'three wait');
  await Promise.resolve();
  t.same(begun, ['1', '2']);
  fourth?.left();
  t.not(enter('8', 'a'), undefined, 'one that went away makes room');
  first?.left();
  first?.left();
  await Promise.resolve();
  t.same(begun, ['1', '2', '3'], 'leaving twice gives one turn');
  second?.left();
  await Promise.resolve();
  t.same(begun, ['1', '2', '3', '6']);
});
