/** Moments in the zone of the reader, with the exact one at hand. */

const ofToday = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const ofThisYear = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});
const ofOthers = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'long' });

/** In: an ISO time. The nearer it is, the more of its time of day is shown. */
export const Moment = ({ at }: Readonly<{ at: string }>) => {
  const moment = new Date(at);
  const now = new Date();
  const shown =
    moment.toDateString() === now.toDateString()
      ? ofToday
      : moment.getFullYear() === now.getFullYear()
        ? ofThisYear
        : ofOthers;
  return (
    <time dateTime={at} title={exact.format(moment)}>
      {shown.format(moment)}
    </time>
  );
};
