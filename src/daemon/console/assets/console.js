// The one script of the console. Every page works without it; it adds counts, shortcuts and fresh figures.

/** Counts the selected rows of a list, and selects all of them at once. */
for (const list of document.querySelectorAll('form[data-select]')) {
  const boxes = [...list.querySelectorAll('input[name="id"]')];
  const all = list.querySelector('input[data-all]');
  const count = list.querySelector('.count');
  const show = () => {
    const selected = boxes.filter((box) => box.checked).length;
    if (count !== null) count.textContent = selected === 0 ? 'None selected' : `${selected} selected`;
    if (all === null) return;
    all.checked = selected === boxes.length && selected > 0;
    all.indeterminate = selected > 0 && selected < boxes.length;
  };
  if (all !== null) {
    all.closest('[hidden]')?.removeAttribute('hidden');
    all.addEventListener('change', () => {
      for (const box of boxes) box.checked = all.checked;
      show();
    });
  }
  list.addEventListener('change', show);
  show();
}

/** Applies a filter as soon as a choice changes. */
for (const filters of document.querySelectorAll('form.filters')) {
  filters.addEventListener('change', ({ target }) => {
    if (target instanceof HTMLSelectElement) filters.requestSubmit();
  });
}

/** Offers the zone of the browser, and applies the choice of a zone at once. */
for (const zones of document.querySelectorAll('select[data-zones]')) {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  if (![...zones.options].some(({ value }) => value === timeZone)) zones.add(new Option(timeZone, timeZone));
  zones.addEventListener('change', () => zones.form.requestSubmit());
}

/** Scrolls the bar to the page that is open, which may be out of sight on a phone. */
document.querySelector('.bar [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' });

/** Shows the reader's own time beside UTC. */
for (const time of document.querySelectorAll('time[datetime]')) {
  const at = new Date(time.dateTime);
  if (Number.isNaN(at.getTime())) continue;
  time.title = `${time.dateTime} (your time: ${at.toLocaleString()})`;
}

/** Replaces the content of a page that asks for it with a fresh copy, while nobody works in it. */
const { refresh } = document.body.dataset;
if (refresh !== undefined) {
  setInterval(async () => {
    const isBusy = document.hidden || document.activeElement?.closest('main form, main details') !== null;
    if (isBusy) return;
    const answer = await fetch(location.href).catch(() => null);
    if (answer === null || !answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const main = fresh.querySelector('main');
    if (main !== null) document.querySelector('main')?.replaceChildren(...main.childNodes);
    document.title = fresh.title;
  }, Number(refresh) * 1000);
}
