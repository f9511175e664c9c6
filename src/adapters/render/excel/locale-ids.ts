/** Language ids of Windows (MS-LCID), by which number formats of a workbook name a locale. */

const table =
  'af 436 am 45e ar 401 ar-ae 3801 ar-eg c01 ar-sa 401 az 42c be 423 bg 402 bn 445 bs 141a ca 403 cs 405 cy 452 da 406 de 407 de-at c07 de-ch 807 ' +
  'el 408 en 409 en-au c09 en-ca 1009 en-gb 809 en-ie 1809 en-in 4009 en-nz 1409 en-za 1c09 es c0a es-ar 2c0a es-cl 340a es-co 240a es-mx 80a ' +
  'es-us 540a et 425 eu 42d fa 429 fi 40b fil 464 fr 40c fr-be 80c fr-ca c0c fr-ch 100c ga 83c gl 456 gu 447 he 40d hi 439 hr 41a hu 40e hy 42b ' +
  'id 421 is 40f it 410 it-ch 810 ja 411 ka 437 kk 43f km 453 kn 44b ko 412 lt 427 lv 426 mk 42f ml 44c mr 44e ms 43e mt 43a my 455 nb 414 ne 461 ' +
  'nl 413 nl-be 813 nn 814 no 414 pa 446 pl 415 pt 416 pt-br 416 pt-pt 816 ro 418 ru 419 sk 41b sl 424 sq 41c sr 241a sv 41d sv-fi 81d sw 441 ' +
  'ta 449 te 44a th 41e tr 41f uk 422 ur 420 uz 443 vi 42a zh 804 zh-cn 804 zh-hk c04 zh-hant 404 zh-sg 1004 zh-tw 404 zu 435';

const words = table.split(' ');
const ids: ReadonlyMap<string, string> = new Map(words.flatMap((tag, at) => (at % 2 === 0 ? [[tag, words[at + 1] ?? ''] as const] : [])));

/** In: BCP 47. Out: the id in hexadecimal, or '' where Windows has none that is known here. */
export const localeId = (locale: string): string => {
  const { language, script, region } = new Intl.Locale(locale);
  const tags = [
    region === undefined ? undefined : `${language}-${region}`,
    script === undefined ? undefined : `${language}-${script}`,
    language,
  ];
  return (
    tags
      .map((tag) => ids.get((tag ?? '').toLowerCase()))
      .find((id) => id !== undefined)
      ?.toUpperCase() ?? ''
  );
};
