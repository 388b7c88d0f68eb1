// Uses the page as a reader does and leaves what came of it in an attribute of its body.
(() => {
  const all = (what) => Array.from(document.querySelectorAll(what));
  const find = document.getElementById('find');
  const log = [];
  const key = (k) => (document.activeElement || document.body)
    .dispatchEvent(new KeyboardEvent('keydown', { key: k, bubbles: true, cancelable: true }));
  const type = (text) => { find.value = text; find.dispatchEvent(new Event('input', { bubbles: true })); };
  const at = () => 'step ' + (all('.step').indexOf(document.activeElement.closest('.step')) + 1);
  const seen = () => 'steps ' + all('.step').flatMap((step, i) => (step.hidden ? [] : [i + 1])).join(',');
  const open = (within) => all(within + ' details[open]').length + ' of ' + all(within + ' details').length + ' open';
  for (const k of ['j', 'j', 'k', 'n', 'n', 'p']) { key(k); log.push(k + ': ' + at()); }
  key('o'); log.push('o: ' + open('.step:focus'));
  key('e'); log.push('e: ' + open('.step'));
  key('/'); log.push('/: the field has the keys: ' + (document.activeElement === find));
  type('ls'); log.push('ls: ' + seen() + ', ' + document.getElementById('shown').textContent);
  key('j'); log.push('j in the field: the field has the keys: ' + (document.activeElement === find));
  type('nowhere'); log.push('nowhere: ' + seen() + ', said: ' + !document.getElementById('nothing').hidden);
  key('Escape'); log.push('Escape: ' + seen());
  document.querySelector('#kinds input[value=refused]').click(); log.push('refused: ' + seen());
  document.body.setAttribute('data-log', log.join('; '));
})();
