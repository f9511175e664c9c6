/** Each page as Markdown, at its address with `.md`. */
import { getCollection } from 'astro:content';

export const getStaticPaths = async () =>
  (await getCollection('docs')).map(({ id, body }) => ({ params: { page: id }, props: { body } }));

export const GET = ({ props }) => new Response(props.body);
