/** The bounds of what authors write into templates. */

export const templateLimits = {
  templateNameCharsMax: 255,
  templateSlugCharsMax: 100,
  templateDescriptionCharsMax: 2_000,
  templateVariablesMax: 500,
  /** Other languages of one template, and its texts in each of them. */
  templateLanguagesMax: 20,
  templateTextsMax: 2_000,
  /** Names of one object that stands in a template: far more than any of its fields knows, and enough for a default value. */
  templateNamesMax: 10_000,
  componentsSavedMax: 200,
  componentsExpandedMax: 500,
  nestingDepthMax: 10,
  loopIterationsMax: 1_000,
  nestedLoopsMax: 3,
  nestedConditionsMax: 5,
  pathSegmentsMax: 20,
};
