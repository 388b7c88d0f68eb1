'use strict';
(() => {
  const all = (what, from = document) => Array.from(from.querySelectorAll(what));
  const find = document.getElementById('find');
  const shown = document.getElementById('shown');
  const steps = all('.step');
  const texts = new Map();
  const textOf = (step) => {
    if (!texts.has(step)) texts.set(step, step.textContent.toLowerCase());
    return texts.get(step);
  };
  const visible = () => steps.filter((step) => !step.hidden);

  function filter() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = all('#kinds input:checked').map((box) => box.value);
    let count = 0;
    for (const step of steps) {
      const of = step.dataset.kinds.split(' ');
      const fits = (!kinds.length || kinds.some((kind) => of.includes(kind)))
        && words.every((word) => textOf(step).includes(word));
      step.hidden = !fits;
      count += fits;
    }
    const on = words.length + kinds.length > 0;
    shown.textContent = on ? count + ' of ' + steps.length + ' steps' : '';
    document.getElementById('nothing').hidden = !on || count > 0;
  }

  function go(list, by) {
    if (!list.length) return;
    const here = document.activeElement.closest('.step');
    let at = list.indexOf(here);
    if (at < 0 && here) {
      const after = list.findIndex((step) => here.compareDocumentPosition(step) & Node.DOCUMENT_POSITION_FOLLOWING);
      at = after < 0 ? list.length : after;
      if (by > 0) at -= 1;
    } else if (at < 0 && by < 0) {
      at = 0;
    }
    const step = list[Math.max(0, Math.min(list.length - 1, at + by))];
    step.focus({ preventScroll: true });
    step.scrollIntoView({ block: 'nearest' });
  }

  function toggle(from) {
    const details = from.flatMap((one) => all('details', one));
    const open = !details.every((one) => one.open);
    for (const one of details) one.open = open;
  }

  const keys = {
    j: () => go(visible(), 1),
    k: () => go(visible(), -1),
    n: () => go(visible().filter((step) => step.dataset.kinds.includes('refused')), 1),
    p: () => go(visible().filter((step) => step.dataset.kinds.includes('refused')), -1),
    o: () => { const here = document.activeElement.closest('.step'); if (here) toggle([here]); },
    e: () => toggle(visible()),
    '/': () => find.focus(),
  };

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape') {
      find.value = '';
      for (const box of all('#kinds input')) box.checked = false;
      find.blur();
      filter();
    } else if (event.target !== find && keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  document.getElementById('filter').addEventListener('input', filter);

  // Paper cannot be clicked: hints are printed in full.
  let before = [];
  addEventListener('beforeprint', () => {
    before = all('.hint:not([open])');
    for (const one of before) one.open = true;
  });
  addEventListener('afterprint', () => {
    for (const one of before) one.open = false;
  });
})();
