/** A user of the team by name. */
import { useQuery } from '@tanstack/react-query';
import type { GetUserData, GetUserResponse } from '#api';
import { operation } from '../api/client';
import { usePlace } from '../resources/place';

const get = operation<GetUserData, GetUserResponse>('GET', '/api/users/{id}');

/** The id stands for a user who has left the team, or was erased. */
export const Person = ({ id }: Readonly<{ id: string }>) => {
  const { scope } = usePlace();
  const { data } = useQuery({
    queryKey: ['users', scope.teamId, id],
    staleTime: 5 * 60_000,
    retry: false,
    enabled: id !== scope.me.id,
    queryFn: ({ signal }) => get({ path: { id } }, { teamId: scope.teamId, signal }),
  });
  const user = id === scope.me.id ? scope.me : data;
  const name = user?.name ?? user?.email;
  return name === undefined || name === null ? <code>{id}</code> : <bdi title={user?.email ?? ''}>{name}</bdi>;
};
